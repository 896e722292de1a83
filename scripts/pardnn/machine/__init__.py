"""A machine measured from inside a job: ranks that meet, times of messages and of a matrix product, memory, the machine file."""
