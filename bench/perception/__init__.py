# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Classical perception on a drive through a town of the headless server, against the truth.

Figures of the same methods on real data: OpenCV's semi-global matching is off by more than 3 pixels
in 7.64 % of the pixels of KITTI 2012 that both cameras see (``eval_stereo_flow_detail.php`` at
cvlibs.net, method OCV-SGBM, of 16 Feb. 2012; holes are filled there). VISO2-S, which as here goes
from one pair of pictures to the next, drifts by 2.44 % in KITTI's sequences 11 to 21, as the report
of shahanxd/metagross cites KITTI's list.
"""
