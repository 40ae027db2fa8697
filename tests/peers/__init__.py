"""The same small programs run by PyFlink and by headgate: what each prints has to be equal, or differ for a reason."""
