//! Line charts: one [`Chart`], or several in a [`Figure`].

use crate::axis::{Axis, drawable, extent};
use crate::svg::{Anchor, Canvas, fit, text_width};

/// Okabe and Ito's colours without yellow, which is too pale for a line on white.
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];
/// Seven colours and six patterns have no common divisor: 42 lines are all different.
const DASHES: [&str; 6] = ["", "7 3", "2 2.5", "9 3 2 3", "12 4", "9 3 2 3 2 3"];

const TITLE: f64 = 14.0;
const LABEL: f64 = 12.0;
const SMALL: f64 = 11.0;
const DARK: &str = "fill=\"#222222\"";

/// A line, or a set of points, of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Abscissas; the longer of `x` and `y` is truncated.
    pub x: Vec<f64>,
    /// Ordinates. A value that is non-finite, or not positive on a logarithmic axis, leaves a gap.
    pub y: Vec<f64>,
    /// Draw a mark at every point.
    pub markers: bool,
}

/// A line chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Title, above the chart.
    pub title: String,
    /// What the x axis shows, with its unit: `time (s)`.
    pub x_label: String,
    /// What the y axis shows, with its unit: `torque (N m)`.
    pub y_label: String,
    /// The lines, in the order of the legend.
    pub series: Vec<Series>,
    /// Is the x axis logarithmic?
    pub log_x: bool,
    /// Is the y axis logarithmic?
    pub log_y: bool,
    /// Range of the x axis; that of the data if not given.
    pub x_range: Option<(f64, f64)>,
    /// Range of the y axis; that of the data if not given.
    pub y_range: Option<(f64, f64)>,
}

impl Chart {
    /// An empty chart with these texts; labels carry their unit.
    pub fn new(
        title: impl Into<String>,
        x_label: impl Into<String>,
        y_label: impl Into<String>,
    ) -> Self {
        Chart {
            title: title.into(),
            x_label: x_label.into(),
            y_label: y_label.into(),
            ..Chart::default()
        }
    }

    /// Adds a line.
    #[must_use]
    pub fn series(mut self, name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        self.series.push(Series {
            name: name.into(),
            x,
            y,
            markers: false,
        });
        self
    }

    /// Adds a line with a mark at every point.
    #[must_use]
    pub fn marked_series(mut self, name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Self {
        self.series.push(Series {
            name: name.into(),
            x,
            y,
            markers: true,
        });
        self
    }

    /// Makes axes logarithmic.
    #[must_use]
    pub fn log(mut self, x: bool, y: bool) -> Self {
        (self.log_x, self.log_y) = (x, y);
        self
    }

    /// The chart alone, as SVG of this size in pixels.
    pub fn svg(&self, width: u32, height: u32) -> String {
        draw("", std::slice::from_ref(self), 1, width, height)
    }

    /// Both coordinates of the points of a series.
    fn points<'a>(&self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let (log_x, log_y) = (self.log_x, self.log_y);
        series.x.iter().zip(&series.y).map(move |(&x, &y)| {
            if drawable(x, log_x) && drawable(y, log_y) {
                (x, y)
            } else {
                (f64::NAN, f64::NAN)
            }
        })
    }

    fn x_extent(&self) -> Option<(f64, f64)> {
        given(self.x_range, self.log_x).or_else(|| {
            let all = self.series.iter().flat_map(|s| self.points(s).map(|p| p.0));
            extent(all, self.log_x)
        })
    }

    fn y_extent(&self) -> Option<(f64, f64)> {
        given(self.y_range, self.log_y).or_else(|| {
            let all = self.series.iter().flat_map(|s| self.points(s).map(|p| p.1));
            extent(all, self.log_y)
        })
    }

    fn has_legend(&self) -> bool {
        self.series.len() > 1
            || self
                .series
                .iter()
                .any(|s| !s.name.is_empty() && s.name != self.title)
    }
}

/// A range that the user gave, if it can be used.
fn given(range: Option<(f64, f64)>, log: bool) -> Option<(f64, f64)> {
    range
        .filter(|&(a, b)| drawable(a, log) && drawable(b, log))
        .map(|(a, b)| (a.min(b), a.max(b)))
}

/// Several charts in one figure, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Title above all charts.
    pub title: String,
    /// The charts.
    pub charts: Vec<Chart>,
    /// Charts in a row; 0 counts as 1.
    pub columns: usize,
}

impl Figure {
    /// The figure as SVG of this size in pixels.
    pub fn svg(&self, width: u32, height: u32) -> String {
        draw(&self.title, &self.charts, self.columns, width, height)
    }
}

/// Layout of a chart.
struct Plan<'a> {
    chart: &'a Chart,
    /// Left, top, width, height of the whole chart.
    cell: [f64; 4],
    legend: Vec<Vec<(usize, String)>>,
    /// Top and height of the area of the lines.
    top: f64,
    height: f64,
    y: Axis,
    /// Widest label of the y axis.
    labels: f64,
}

fn draw(title: &str, charts: &[Chart], columns: usize, width: u32, height: u32) -> String {
    let columns = columns.clamp(1, charts.len().max(1));
    let rows = charts.len().max(1).div_ceil(columns);
    let head = if title.is_empty() { 0.0 } else { 30.0 };
    // below this nothing could be read
    let width = f64::from(width).max(160.0 * columns as f64);
    let height = f64::from(height).max(head + 140.0 * rows as f64);
    let label = if title.is_empty() {
        charts
            .iter()
            .map(|c| c.title.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    } else {
        title.to_string()
    };
    let mut canvas = Canvas::new(width, height, &label);
    let shown = fit(title, TITLE + 2.0, width - 20.0);
    canvas.write(
        [width / 2.0, 22.0],
        &shown,
        TITLE + 2.0,
        Anchor::Middle,
        DARK,
    );
    let (w, h) = (width / columns as f64, (height - head) / rows as f64);
    let plans: Vec<Plan<'_>> = charts
        .iter()
        .enumerate()
        .map(|(k, chart)| {
            let (column, row) = ((k % columns) as f64, (k / columns) as f64);
            plan(chart, [column * w, head + row * h, w, h])
        })
        .collect();
    // charts of a column share their left edge
    for (k, plan) in plans.iter().enumerate() {
        let widest = plans
            .iter()
            .skip(k % columns)
            .step_by(columns)
            .map(|p| p.labels)
            .fold(0.0, f64::max);
        draw_chart(&mut canvas, plan, widest);
    }
    canvas.finish()
}

fn plan(chart: &Chart, cell: [f64; 4]) -> Plan<'_> {
    let [_, y, w, h] = cell;
    let title = if chart.title.is_empty() { 6.0 } else { 26.0 };
    let bottom = if chart.x_label.is_empty() { 26.0 } else { 42.0 };
    let mut legend = Vec::new();
    if chart.has_legend() {
        let most = (((h - title - bottom) / 3.0 / 17.0) as usize).max(1);
        legend = legend_rows(chart, w - 24.0, most);
    }
    let above = title + 17.0 * legend.len() as f64 + 4.0;
    let pad = if chart.y_range.is_some() { 0.0 } else { 0.05 };
    let axis =
        |height: f64| Axis::with_room(chart.y_extent(), chart.log_y, pad, height, |_| SMALL + 8.0);
    let mut top = above;
    let mut y_axis = axis(h - top - bottom);
    if !y_axis.note.is_empty() {
        top += 13.0;
        y_axis = axis(h - top - bottom);
    }
    let labels = y_axis
        .ticks
        .iter()
        .map(|t| text_width(&t.label, SMALL))
        .fold(0.0, f64::max);
    Plan {
        chart,
        cell,
        legend,
        top: y + top,
        height: h - top - bottom,
        y: y_axis,
        labels,
    }
}

/// Legend entries in rows that fit; entries beyond `most` rows are counted.
fn legend_rows(chart: &Chart, room: f64, most: usize) -> Vec<Vec<(usize, String)>> {
    let mut rows: Vec<Vec<(usize, String)>> = Vec::new();
    let mut used = f64::INFINITY;
    for (k, series) in chart.series.iter().enumerate() {
        let name = fit(&series.name, SMALL, room - 50.0);
        let need = entry_width(&name);
        if used + need > room {
            if rows.len() == most {
                break;
            }
            rows.push(Vec::new());
            used = 0.0;
        }
        used += need;
        if let Some(row) = rows.last_mut() {
            row.push((k, name));
        }
    }
    let shown: usize = rows.iter().map(Vec::len).sum();
    if shown < chart.series.len()
        && let Some(row) = rows.last_mut()
    {
        // the count replaces the last entry of the last row
        if row.len() > 1 {
            row.pop();
        }
        let shown: usize = shown - usize::from(row.len() > 1);
        let more = chart.series.len() - shown;
        row.push((usize::MAX, format!("and {more} more")));
    }
    rows
}

fn entry_width(name: &str) -> f64 {
    30.0 + text_width(name, SMALL) + 16.0
}

fn draw_chart(canvas: &mut Canvas, plan: &Plan<'_>, labels: f64) {
    let chart = plan.chart;
    let [cell_x, cell_y, cell_w, cell_h] = plan.cell;
    let (top, height) = (plan.top, plan.height);
    let beside = if chart.y_label.is_empty() { 8.0 } else { 26.0 };
    let left = cell_x + beside + labels + 7.0;
    let x_pad = if chart.x_range.is_none() && chart.series.iter().any(|s| s.markers) {
        0.03
    } else {
        0.0
    };
    // half of the last label may extend to the right
    let x_axis = |width: f64| {
        Axis::with_room(chart.x_extent(), chart.log_x, x_pad, width, |label| {
            text_width(label, SMALL) + 10.0
        })
    };
    let space = cell_x + cell_w - left - 14.0;
    let first_try = x_axis(space);
    let overhang = first_try
        .ticks
        .last()
        .map_or(0.0, |t| text_width(&t.label, SMALL) / 2.0 - 8.0);
    let width = space - overhang.max(0.0);
    let x = x_axis(width);
    let at_x = |v: f64| left + width * x.fraction(v);
    let at_y = |v: f64| top + height * (1.0 - plan.y.fraction(v));

    // texts above
    let middle = left + width / 2.0;
    let title = fit(&chart.title, TITLE, cell_w - 12.0);
    let half = text_width(&title, TITLE) / 2.0;
    let title_x = middle
        .min(cell_x + cell_w - 6.0 - half)
        .max(cell_x + 6.0 + half);
    canvas.write(
        [title_x, cell_y + 18.0],
        &title,
        TITLE,
        Anchor::Middle,
        DARK,
    );
    let mut row_y = cell_y + if chart.title.is_empty() { 6.0 } else { 26.0 };
    for row in &plan.legend {
        let total: f64 = row.iter().map(|(_, name)| entry_width(name)).sum::<f64>() - 16.0;
        let mut at = (middle - total / 2.0)
            .min(cell_x + cell_w - 8.0 - total)
            .max(cell_x + 8.0);
        for (k, name) in row {
            if *k != usize::MAX {
                let y = row_y + 8.0;
                canvas.line([at, y], [at + 24.0, y], &stroke(*k));
                if chart.series[*k].markers {
                    mark(canvas, *k, [at + 12.0, y]);
                }
            }
            canvas.write([at + 30.0, row_y + 12.0], name, SMALL, Anchor::Start, DARK);
            at += entry_width(name);
        }
        row_y += 17.0;
    }
    canvas.write(
        [left, top - 5.0],
        &fit(&plan.y.note, SMALL, width),
        SMALL,
        Anchor::Start,
        DARK,
    );

    // grid and labels
    let thin = "stroke=\"#e3e3e3\" stroke-width=\"0.7\"";
    let faint = "stroke=\"#f1f1f1\" stroke-width=\"0.6\"";
    for v in &x.minor {
        canvas.line([at_x(*v), top], [at_x(*v), top + height], faint);
    }
    for v in &plan.y.minor {
        canvas.line([left, at_y(*v)], [left + width, at_y(*v)], faint);
    }
    for tick in &x.ticks {
        let px = at_x(tick.at);
        canvas.line([px, top], [px, top + height], thin);
        let py = top + height + SMALL + 5.0;
        canvas.write([px, py], &tick.label, SMALL, Anchor::Middle, DARK);
    }
    for tick in &plan.y.ticks {
        let py = at_y(tick.at);
        let style = if tick.at == 0.0 && !chart.log_y {
            "stroke=\"#b0b0b0\" stroke-width=\"0.9\""
        } else {
            thin
        };
        canvas.line([left, py], [left + width, py], style);
        let at = [left - 6.0, py + 0.36 * SMALL];
        canvas.write(at, &tick.label, SMALL, Anchor::End, DARK);
    }
    let note = text_width(&x.note, SMALL);
    let label_y = cell_y + cell_h - 9.0;
    canvas.write([left + width, label_y], &x.note, SMALL, Anchor::End, DARK);
    let room = width - if note > 0.0 { 2.0 * note + 16.0 } else { 0.0 };
    let x_label = fit(&chart.x_label, LABEL, room);
    canvas.write([middle, label_y], &x_label, LABEL, Anchor::Middle, DARK);
    let label_at = [cell_x + 18.0, top + height / 2.0];
    let y_label = fit(&chart.y_label, LABEL, (height + 50.0).min(cell_h - 8.0));
    canvas.write_upward(label_at, &y_label, LABEL, DARK);

    // lines, on top of the frame
    let frame = "fill=\"none\" stroke=\"#444444\" stroke-width=\"0.9\"";
    canvas.rect([left, top, width, height], frame);
    // marks at the edge are shown whole unless the user chose the range
    let chosen = chart.x_range.is_some() || chart.y_range.is_some();
    let over = if chosen { 0.0 } else { 5.0 };
    canvas.begin_clip([
        left - over,
        top - over,
        width + 2.0 * over,
        height + 2.0 * over,
    ]);
    let mut anything = false;
    for (k, series) in chart.series.iter().enumerate() {
        let mut run: Vec<[f64; 2]> = Vec::new();
        let end = std::iter::once((f64::NAN, f64::NAN));
        for (vx, vy) in chart.points(series).chain(end) {
            if vx.is_finite() {
                run.push([at_x(vx), at_y(vy)]);
                continue;
            }
            anything |= !run.is_empty();
            let points = thin_out(&run);
            if series.markers {
                if points.len() > 1 {
                    canvas.polyline(&points, &format!("fill=\"none\" {}", stroke(k)));
                }
                run.iter().for_each(|p| mark(canvas, k, *p));
            } else if let [only] = points[..] {
                let style = format!("fill=\"{}\"", COLOURS[k % COLOURS.len()]);
                canvas.circle(only, 2.5, &style);
            } else if !points.is_empty() {
                canvas.polyline(&points, &format!("fill=\"none\" {}", stroke(k)));
            }
            run.clear();
        }
    }
    canvas.end_clip();
    if !anything {
        let at = [middle, top + height / 2.0];
        canvas.write(at, "no data", LABEL, Anchor::Middle, "fill=\"#777777\"");
    }
}

fn stroke(k: usize) -> String {
    let dash = DASHES[k % DASHES.len()];
    let dash = if dash.is_empty() {
        String::new()
    } else {
        format!(" stroke-dasharray=\"{dash}\"")
    };
    format!(
        "stroke=\"{}\" stroke-width=\"1.6\" stroke-linejoin=\"round\"{dash}",
        COLOURS[k % COLOURS.len()]
    )
}

/// The mark of series k: disc, square, triangle or diamond.
fn mark(canvas: &mut Canvas, k: usize, [x, y]: [f64; 2]) {
    let style = format!(
        "fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.5\"",
        COLOURS[k % COLOURS.len()]
    );
    match k % 4 {
        0 => canvas.circle([x, y], 3.4, &style),
        1 => canvas.rect([x - 3.1, y - 3.1, 6.2, 6.2], &style),
        2 => canvas.polygon(
            [[x, y - 4.2], [x + 3.9, y + 3.0], [x - 3.9, y + 3.0]].as_ref(),
            &style,
        ),
        _ => canvas.polygon(
            [[x, y - 4.5], [x + 4.0, y], [x, y + 4.5], [x - 4.0, y]].as_ref(),
            &style,
        ),
    }
}

/// Removes points that do not change the picture.
///
/// Where x does not decrease, each column of pixels keeps its first, lowest, highest and last point: no peak is lost. Other
/// curves lose points that are closer than a quarter pixel to the last one kept.
fn thin_out(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    if points.len() < 500 {
        return points.to_vec();
    }
    let mut kept: Vec<[f64; 2]> = Vec::new();
    if points.windows(2).all(|w| w[0][0] <= w[1][0]) {
        for column in points.chunk_by(|a, b| a[0].floor() == b[0].floor()) {
            let by_height = |&a: &usize, &b: &usize| column[a][1].total_cmp(&column[b][1]);
            let all = || 0..column.len();
            let mut picks = [
                0,
                all().min_by(by_height).unwrap_or(0),
                all().max_by(by_height).unwrap_or(0),
                column.len() - 1,
            ];
            picks.sort_unstable();
            for (k, &pick) in picks.iter().enumerate() {
                if k == 0 || picks[k - 1] != pick {
                    kept.push(column[pick]);
                }
            }
        }
    } else {
        for (k, p) in points.iter().enumerate() {
            let far = kept
                .last()
                .is_none_or(|q| (p[0] - q[0]).hypot(p[1] - q[1]) >= 0.25);
            if far || k + 1 == points.len() {
                kept.push(*p);
            }
        }
    }
    kept
}
