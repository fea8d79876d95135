"""The plot of the speed comparison, written as SVG by hand: ratios on a logarithmic scale, one panel for single states and one for
batches, the targets as lines over the models they hold for."""

import math

from speed_page import COLOURS, JUDGED, TITLES, ratio, target

LEFT, RIGHT, TOP, PANEL, GAP, BELOW = 70, 20, 96, 250, 46, 120
STEP = 46  # from model to model
PANELS = {"single": ("one state", (0.1, 2.0)), "batch": ("batch, per state", (0.02, 1.0))}
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
FONT = "font-family='system-ui, sans-serif'"


def text(x, y, words, size=12, more=""):
    return f"<text x='{x:.1f}' y='{y:.1f}' {FONT} font-size='{size}' fill='#222' {more}>{words}</text>"


def stroke(x1, y1, x2, y2, colour, width=1.0, more=""):
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' stroke-width='{width}' {more}/>"


def limits(way, rows):
    """The range of a panel, widened to what there is to show."""
    low, high = PANELS[way][1]
    found = [r for r in (ratio(row, way) for row in rows if row.quantity in JUDGED) if r]
    low, high = min([low, *found]) * 0.9, max([high, *found]) * 1.1
    return low, high


def panel(way, rows, models, top):
    low, high = limits(way, rows)
    right = LEFT + STEP * len(models)

    def height(value):
        return top + PANEL * (1 - math.log(value / low) / math.log(high / low))

    parts = [f"<rect x='{LEFT}' y='{top}' width='{right - LEFT}' height='{PANEL}' fill='#fafafa' stroke='#bbb'/>"]
    parts.append(text(LEFT, top - 8, f"{PANELS[way][0]}: time of catena ÷ time of Pinocchio", 13, "font-weight='600'"))
    for tick in TICKS:
        if low <= tick <= high:
            y = height(tick)
            parts.append(stroke(LEFT, y, right, y, "#777" if tick == 1 else "#ddd"))
            parts.append(text(LEFT - 8, y + 4, f"{tick:g}", 11, "text-anchor='end'"))
    for k in range(1, len(models)):
        parts.append(stroke(LEFT + STEP * k, top, LEFT + STEP * k, top + PANEL, "#e6e6e6"))
    spread = (STEP - 14) / (len(JUDGED) - 1)
    for row in rows:
        if row.quantity not in JUDGED:
            continue
        left = LEFT + STEP * models.index(row.entry.name)
        limit, value = target(row, way), ratio(row, way)
        x = left + 7 + spread * JUDGED.index(row.quantity)
        if limit is not None:
            wide = spread / 2
            parts.append(stroke(x - wide, height(limit), x + wide, height(limit), "#111", 1.6))
        if value is None:
            continue
        kept = limit is None or value <= limit
        colour = COLOURS[row.quantity]
        name = f"<title>{row.entry.title}, {TITLES[row.quantity].lower()}: {value:.3f}</title>"
        parts.append(
            f"<circle cx='{x:.1f}' cy='{height(value):.1f}' r='3.6' stroke='{colour}' stroke-width='1.6' "
            f"fill='{colour if kept else '#fff'}'>{name}</circle>"
        )
    return parts


def plot(rows):
    """The whole picture."""
    models = list(dict.fromkeys(row.entry.name for row in rows))
    width = LEFT + STEP * len(models) + RIGHT
    height = TOP + 2 * PANEL + GAP + BELOW
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}'>",
        f"<rect width='{width}' height='{height}' fill='#fff'/>",
        text(LEFT, 24, "catena compared with Pinocchio: ratio of best times", 16, "font-weight='600'"),
    ]
    x, y = LEFT + 4.0, 44
    for quantity in JUDGED:
        parts.append(f"<circle cx='{x:.1f}' cy='{y - 4}' r='3.6' fill='{COLOURS[quantity]}'/>")
        parts.append(text(x + 8, y, TITLES[quantity].lower()))
        x += 24 + 6.4 * len(TITLES[quantity])
    parts.append(stroke(LEFT, 58, LEFT + 16, 58, "#111", 1.6))
    parts.append(text(LEFT + 22, 62, "target: filled circles meet it or have none, hollow ones miss it"))
    parts += panel("single", rows, models, TOP)
    second = TOP + PANEL + GAP
    parts += panel("batch", rows, models, second)
    for k, name in enumerate(models):
        x, y = LEFT + STEP * (k + 0.5), second + PANEL + 14
        parts.append(text(x, y, name, 11, f"text-anchor='end' transform='rotate(-45 {x:.1f} {y:.1f})'"))
    return "\n".join([*parts, "</svg>"]) + "\n"
