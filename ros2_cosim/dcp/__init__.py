# SPDX-License-Identifier: Apache-2.0
"""The Distributed Co-Simulation Protocol (DCP) 1.0.

Each room imports the rooms above it in this list:

- ``wire``: PDUs, values, states and transports
- ``description``: slave descriptions (.dcpx, .dcp)
- ``slave``: a model as a DCP slave
- ``master``: a master of any slaves, and co-simulations described by a file
- ``tools``: decoding of traffic, verification of slaves
"""
