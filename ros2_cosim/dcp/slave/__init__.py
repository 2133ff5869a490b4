# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A DCP slave around a model.

``model`` is the base class of models, ``declare`` makes a description from it, ``fmu`` runs an
FMU as a model. ``slave`` takes and answers PDUs; it is made of ``registration`` (the master),
``state_machine``, ``configuration``, ``data_exchange`` and ``run``. ``server`` runs it, ``sockets``
connects it; ``interfaces`` is what ``slave`` needs of these two.
"""
