"""Where things stand on the screen. The colours are the terminal's own."""

from __future__ import annotations

CSS = """
Screen { layout: vertical; background: ansi_default; color: ansi_default; overflow: hidden; }
Static { height: 1; width: 1fr; }
#head { text-style: reverse; }
#body { height: 1fr; layout: horizontal; }
#queues { width: 38; height: 1fr; padding: 0 1 0 0; }
#right { width: 1fr; height: 1fr; }
#filter { display: none; }
#jobs { height: 3fr; }
#details { height: auto; max-height: 7; min-height: 2; }
#log { height: 2fr; min-height: 2; }
#trouble { display: none; }
Table, Lines { scrollbar-size: 0 0; background: ansi_default; }

.-narrow #body { layout: vertical; }
.-narrow #queues { width: 1fr; height: auto; max-height: 4; padding: 0; }
.-narrow #details { max-height: 4; }
.-filtered #filter { display: block; }
.-trouble #trouble { display: block; }
.-log #queues, .-log #filter, .-log #jobs, .-log #details { display: none; }
.-log #log { height: 1fr; }

Confirm, FilterPrompt, Help { background: transparent; }
#question { dock: bottom; height: 1; background: ansi_yellow; color: ansi_black; }
FilterPrompt { layout: horizontal; align: left bottom; }
#slash { width: 2; height: 1; padding: 0 0 0 1; background: ansi_default; text-style: bold; }
#filter-input { width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; }
Help { align: center middle; }
#help { width: 72; height: auto; border: round ansi_default; background: ansi_default; padding: 0 1; }
"""
