def added(folder): return True
