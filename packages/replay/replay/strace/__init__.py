"""Import of logs of `strace -f -ttt -T`: the file calls of any program as a trace."""
