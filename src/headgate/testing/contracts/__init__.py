"""What every source, sink and state backend must do, as checks for implementations of your own."""
