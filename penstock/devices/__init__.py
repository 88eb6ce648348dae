"""Where work runs: the CPU or one GPU of this machine, and how many threads it may use."""

from penstock.devices.choice import Device, choose, gpu_stack
from penstock.devices.memory import free_memory, memory_limit
from penstock.devices.threads import thread_environment, usable_cores
from penstock.devices.worker import bind, confirm, for_spark_task, use

__all__ = [
    "Device",
    "bind",
    "choose",
    "confirm",
    "for_spark_task",
    "free_memory",
    "gpu_stack",
    "memory_limit",
    "thread_environment",
    "usable_cores",
    "use",
]
