"""Window operators: records of a key are gathered in windows, and evaluated when the trigger says so."""
