"""What is measured, against which peers. `make bench` prints one table of ratios.

Machines are noisy: contestants alternate, medians count, and a figure is a ratio wherever there is a peer.
"""
