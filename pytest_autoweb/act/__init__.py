"""Acting by sight: choices on marked pictures, checked by text before anything is done."""
