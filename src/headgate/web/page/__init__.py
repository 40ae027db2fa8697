"""The page that shows the jobs of a driver in a browser: its files, its paths, and the data that it shows."""
