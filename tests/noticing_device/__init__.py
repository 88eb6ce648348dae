"""A device that notices: the stand-in for a GPU, where whatever crosses between it and the host has to be allowed.

A trip is known by the line of Penstock that makes it and by the way it takes: `to_host` of `penstock.frames.matrices`,
or unasked, as a truth value or an element does. One that no `Allowed` is for fails where it is made.
"""

from noticing_device.allowed import Allowed as Allowed
from noticing_device.allowed import Sizes as Sizes
from noticing_device.device import NoticingDevice as NoticingDevice
from noticing_device.trips import Trip as Trip
from noticing_device.trips import UnexpectedTripError as UnexpectedTripError
