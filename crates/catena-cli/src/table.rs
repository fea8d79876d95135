//! Tables: text left-aligned, numbers aligned at their decimal points.

use crate::number;
use catena::residual::largest_of;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle};

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::new('─', '─', '─', '─'));

/// Numbers this much smaller than the largest of their column are round-off.
const ROUND_OFF: f64 = 1e-14;
/// Placeholder for a space that must not be trimmed while the table is laid out.
const GAP: char = '\u{a0}';

/// A table made column by column.
#[derive(Default)]
pub struct Table {
    columns: Vec<Column>,
    wrapped: Option<u16>,
}

struct Column {
    head: String,
    cells: Vec<String>,
    alignment: CellAlignment,
    is_fixed: bool,
}

impl Table {
    /// A table without columns.
    pub fn new() -> Self {
        Table::default()
    }

    /// Adds a column of text.
    #[must_use]
    pub fn text<T: Into<String>>(self, head: &str, cells: impl IntoIterator<Item = T>) -> Self {
        self.column(head, cells, CellAlignment::Left, true)
    }

    /// Adds a column of text that may be broken into lines where the table would be too wide.
    #[must_use]
    pub fn prose<T: Into<String>>(self, head: &str, cells: impl IntoIterator<Item = T>) -> Self {
        self.column(head, cells, CellAlignment::Left, false)
    }

    /// Adds a column of numbers with six digits; an empty cell for none, `~0` for round-off next to much larger numbers.
    #[must_use]
    pub fn numbers(self, head: &str, cells: impl IntoIterator<Item = Option<f64>>) -> Self {
        let cells: Vec<Option<f64>> = cells.into_iter().collect();
        // non-finite numbers are written as they are, and do not make others small
        let sizes = cells.iter().flatten().map(|x| x.abs());
        let largest = largest_of(sizes.filter(|size| size.is_finite()));
        let written = cells.into_iter().map(|cell| match cell {
            None => String::new(),
            Some(x) if x != 0.0 && x.abs() < ROUND_OFF * largest => "~0".into(),
            Some(x) => number::six(x),
        });
        self.written(head, written)
    }

    /// Adds a column of already formatted numbers.
    #[must_use]
    pub fn written<T: Into<String>>(self, head: &str, cells: impl IntoIterator<Item = T>) -> Self {
        let cells = cells.into_iter().map(Into::into).collect();
        self.column(head, aligned(cells), CellAlignment::Right, true)
    }

    /// Breaks prose so that the table has at most this width.
    #[must_use]
    pub fn wrapped(mut self, width: u16) -> Self {
        self.wrapped = Some(width);
        self
    }

    fn column<T: Into<String>>(
        mut self,
        head: &str,
        cells: impl IntoIterator<Item = T>,
        alignment: CellAlignment,
        is_fixed: bool,
    ) -> Self {
        self.columns.push(Column {
            head: head.into(),
            cells: cells.into_iter().map(Into::into).collect(),
            alignment,
            is_fixed,
        });
        self
    }

    /// The lines of the table, indented by two spaces, without trailing spaces.
    pub fn render(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        if let Some(width) = self.wrapped {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width);
        }
        table.set_header(self.columns.iter().map(|column| &column.head));
        let rows = self
            .columns
            .iter()
            .map(|c| c.cells.len())
            .max()
            .unwrap_or(0);
        let empty = String::new();
        for row in 0..rows {
            table.add_row(
                self.columns
                    .iter()
                    .map(|column| column.cells.get(row).unwrap_or(&empty)),
            );
        }
        for (index, column) in self.columns.iter().enumerate() {
            if let Some(shown) = table.column_mut(index) {
                shown.set_cell_alignment(column.alignment);
                shown.set_padding((2, 0));
                if column.is_fixed && self.wrapped.is_some() {
                    shown.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
        }
        let mut text = String::new();
        for line in table.lines() {
            // the library starts every line with a space for the absent border
            let line: String = line.replace(GAP, " ").chars().skip(1).collect();
            let line = match line.strip_prefix("──") {
                Some(rule) => format!("  {rule}"),
                None => line,
            };
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Pads numbers on the right so that, right-aligned, their decimal points are in line.
fn aligned(cells: Vec<String>) -> Vec<String> {
    let tail = |cell: &str| {
        let whole = cell.find(['.', 'e']).unwrap_or(cell.len());
        cell[whole..].chars().count()
    };
    let longest = cells.iter().map(|cell| tail(cell)).max().unwrap_or(0);
    cells
        .into_iter()
        .map(|cell| {
            let missing = longest - tail(&cell);
            cell + &GAP.to_string().repeat(missing)
        })
        .collect()
}

/// A matrix with labelled rows and columns.
pub fn matrix(
    labels: &[String],
    columns: &[String],
    entry: impl Fn(usize, usize) -> f64,
) -> String {
    let mut table = Table::new().text("", labels.iter().cloned());
    for (j, head) in columns.iter().enumerate() {
        table = table.numbers(head, (0..labels.len()).map(|i| Some(entry(i, j))));
    }
    table.render()
}
