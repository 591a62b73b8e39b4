"""What outsiders found wrong in the first release; every test names its finding."""
