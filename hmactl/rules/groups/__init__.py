"""The rules, in groups that concern a deployment or not; `hmactl.rules.catalogue` says when."""
