//! A plot of slopes as SVG.

use std::fmt::Write as _;

use super::{line::Line, operation::Budget, slopes::Slope};

/// The size of the picture, and the edges of the plot in it.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 480.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 370.0;
/// The greatest values of both axes, in milliseconds, and the distance of grid lines.
const MOST: f64 = 200.0;
const GRID: u32 = 40;
/// The least distance between two labels.
const LABEL: f64 = 16.0;
/// Leaves room for 17 labels.
const FIRST_LABEL: f64 = 30.0;

/// Returns a picture of the medians over the round trip to the home region.
pub(crate) fn svg(slopes: &[Slope]) -> String {
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Time of operations in a far region over the round trip to the home region</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    draw_axes(&mut picture);
    let mut slopes: Vec<_> = slopes.iter().collect();
    slopes.sort_by(|one, other| last(other).total_cmp(&last(one)));
    let mut label = FIRST_LABEL;
    for slope in slopes {
        label = (y(last(slope)) - LABEL / 2.0).max(label);
        draw_slope(&mut picture, slope, label);
        label += LABEL;
    }
    picture.push_str("</svg>\n");
    picture
}

fn draw_axes(picture: &mut String) {
    for step in (0..=5).map(|step| step * GRID) {
        let value = f64::from(step);
        let (at_y, label_y) = (y(value), y(value) + 4.0);
        write(
            picture,
            format_args!(
                "<path d=\"M{LEFT} {at_y}H{RIGHT}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{label_y}\" text-anchor=\"end\">{step}</text>\n",
                LEFT - 8.0
            ),
        );
        if value <= 160.0 {
            write(
                picture,
                format_args!(
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{step}</text>\n",
                    x(value),
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
fn draw_slope(picture: &mut String, slope: &Slope, label: f64) {
    let color = match slope.budget {
        Budget::Local => "#1a7f4e",
        Budget::Home => "#2a5db0",
    };
    let points = slope.points.iter();
    let points: Vec<_> = points
        .map(|(round_trip, time)| format!("{:.1},{:.1}", x(*round_trip), y(*time)))
        .collect();
    let (end, name) = (y(last(slope)), slope.name);
    let trips = Line::through(&slope.points).slope;
    write(
        picture,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\
             <path d=\"M{:.1} {end:.1}L{:.1} {label:.1}\" stroke=\"{color}\" stroke-width=\"0.5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{name}: {trips:.2}</text>\n",
            points.join(" "),
            x(160.0) + 2.0,
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
    LEFT + round_trip / 160.0 * (RIGHT - LEFT)
}

fn y(time: f64) -> f64 {
    BOTTOM - time.min(MOST) / MOST * (BOTTOM - TOP)
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
        assert!(picture.ends_with("</svg>\n"));
    }
}
