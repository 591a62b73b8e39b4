"""Does gamma tell where a model can be explained?"""
