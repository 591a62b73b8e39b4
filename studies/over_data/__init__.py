"""Does gamma over the data rank models by how much they overfit, and find the rows to look at?"""
