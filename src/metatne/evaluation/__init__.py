"""How good a method is on labels it has never seen."""
