"""What `ah.fix` and `ah.smoothed` promise, measured on sets that had no part in any choice."""
