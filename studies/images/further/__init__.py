"""Images, further: groups of classes, drift, size and colour, adversarial inputs."""
