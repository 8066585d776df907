//! A plot of slopes as SVG.

use std::fmt::Write as _;

use super::{line::Line, numbers::count, operation::Budget, slopes::Slope};

/// The size of the picture, and the edges of the plot in it.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 480.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 370.0;
/// The number of grid lines, and the least distance between two, in milliseconds.
const GRID_LINES: u32 = 5;
const GRID: u32 = 40;
/// The greatest round trip, in milliseconds.
const FARTHEST: f64 = 160.0;
/// The least distance between two labels.
const LABEL: f64 = 16.0;
/// The height of the first label.
const FIRST_LABEL: f64 = 30.0;

/// Returns a picture of the medians over the round trip to the home region.
pub(crate) fn svg(slopes: &[Slope]) -> String {
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Time of operations in a far region over the round trip to the home region</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let is_measured = |slope: &&Slope| Line::through(&slope.points).slope.is_finite();
    let mut slopes: Vec<_> = slopes.iter().filter(is_measured).collect();
    slopes.sort_by(|one, other| last(other).total_cmp(&last(one)));
    let scale = Scale::up_to(slopes.first().map_or(0.0, |slope| last(slope)));
    draw_axes(&mut picture, &scale);
    // Each label is near its line, below the one before, and above the end of the picture.
    let mut label = FIRST_LABEL;
    let mut limit = HEIGHT - count(slopes.len()) * LABEL;
    for slope in slopes {
        label = scale.y(last(slope)).min(limit).max(label);
        draw_slope(&mut picture, &scale, slope, label);
        label += LABEL;
        limit += LABEL;
    }
    picture.push_str("</svg>\n");
    picture
}

/// The scale of the vertical axis.
struct Scale {
    /// The distance between two grid lines, in milliseconds.
    grid: u32,
}

impl Scale {
    /// Returns a scale whose last grid line is not below a value.
    fn up_to(most: f64) -> Self {
        let mut grids = (1..=100).map(|number| number * GRID);
        let grid = grids.find(|grid| f64::from(grid * GRID_LINES) >= most);
        Self {
            grid: grid.unwrap_or(GRID),
        }
    }

    fn y(&self, time: f64) -> f64 {
        BOTTOM - time / f64::from(self.grid * GRID_LINES) * (BOTTOM - TOP)
    }
}

fn draw_axes(picture: &mut String, scale: &Scale) {
    for line in 0..=GRID_LINES {
        let time = line * scale.grid;
        let at_y = scale.y(f64::from(time));
        let label_y = at_y + 4.0;
        write(
            picture,
            format_args!(
                "<path d=\"M{LEFT} {at_y}H{RIGHT}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{label_y}\" text-anchor=\"end\">{time}</text>\n",
                LEFT - 8.0
            ),
        );
        let round_trip = f64::from(line * GRID);
        if round_trip <= FARTHEST {
            write(
                picture,
                format_args!(
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{round_trip}</text>\n",
                    x(round_trip),
                    BOTTOM + 18.0
                ),
            );
        }
    }
    write(
        picture,
        format_args!(
            "<text x=\"{LEFT}\" y=\"20\">median, ms</text>\
             <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">round trip to the home region, ms</text>\n",
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 38.0
        ),
    );
}

/// Draws the points of an operation, and its name with the slope at the height `label`.
fn draw_slope(picture: &mut String, scale: &Scale, slope: &Slope, label: f64) {
    let color = match slope.budget {
        Budget::Local => "#1a7f4e",
        Budget::Home => "#2a5db0",
    };
    let points = slope.points.iter();
    let points: Vec<_> = points
        .map(|(round_trip, time)| format!("{:.1},{:.1}", x(*round_trip), scale.y(*time)))
        .collect();
    let (end, name) = (scale.y(last(slope)), slope.name);
    let trips = Line::through(&slope.points).slope;
    write(
        picture,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\
             <path d=\"M{:.1} {end:.1}L{:.1} {label:.1}\" stroke=\"{color}\" stroke-width=\"0.5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{name}: {trips:.2}</text>\n",
            points.join(" "),
            x(FARTHEST) + 2.0,
            RIGHT + 16.0,
            RIGHT + 20.0,
            label + 4.0,
        ),
    );
}

/// The time at the longest distance.
fn last(slope: &Slope) -> f64 {
    slope.points.last().map_or(0.0, |(_, time)| *time)
}

fn x(round_trip: f64) -> f64 {
    LEFT + round_trip / FARTHEST * (RIGHT - LEFT)
}

fn write(picture: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = picture.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shows_each_operation_with_its_slope() {
        let mut slope = Slope::new("POST chat", Budget::Home);
        for round_trip in [0, 80, 160].map(Duration::from_millis) {
            slope.add(round_trip, vec![round_trip + Duration::from_millis(2)]);
        }
        let picture = svg(&[slope, Slope::new("no points", Budget::Local)]);
        assert!(picture.contains("POST chat: 1.00"), "{picture}");
        assert!(picture.contains("60.0,366.7"), "{picture}");
        assert!(!picture.contains("no points"), "{picture}");
        assert!(picture.ends_with("</svg>\n"));
    }
}
