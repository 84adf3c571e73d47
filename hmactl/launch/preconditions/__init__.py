"""What must hold on this machine before a server is started."""
