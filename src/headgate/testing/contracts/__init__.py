"""What every source and every sink must do, as checks for implementations of your own."""
