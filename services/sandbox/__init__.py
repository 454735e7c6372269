"""What the kernel keeps from programs of others: files, processes, system calls."""
