"""Workers as a service of systemd: the text of the unit, and what is asked of systemctl."""
