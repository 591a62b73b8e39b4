"""What SPADE's theorems and remarks say, held against what networks do."""
