"""DjVu documents."""
