def survived(folder, kills): return True
