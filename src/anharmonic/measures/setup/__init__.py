"""What every measure starts from: whom to ask, where, how far around, in calls of which size."""
