"""The page that shows the jobs of a driver in a browser: who may see it, what it is made of, what it is told."""
