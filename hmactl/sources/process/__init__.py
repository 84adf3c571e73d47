"""What a process is started with, whoever wrote it down, and the deployment that it means."""
