"""What master and slots tell each other, and how they know that the other one is alive."""
