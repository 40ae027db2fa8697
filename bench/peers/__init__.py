"""The peers that headgate is measured against, each in an environment of its own: `make peers` sets them up."""
