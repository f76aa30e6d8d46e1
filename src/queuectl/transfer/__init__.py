"""Moving a whole queue: to another store, into a file, out of one."""
