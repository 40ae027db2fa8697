"""How a program's code comes to where its slots run: packed environments, files, archives, requirements."""
