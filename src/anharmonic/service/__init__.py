"""A monitor as a service: points over HTTP, a database, metrics, alarms, a page."""
