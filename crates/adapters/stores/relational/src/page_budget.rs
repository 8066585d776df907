//! The size limits of a page, in rows and bytes.

use domain::sizes::PAGE_BYTES;

/// The number of leading rows that fit into a page, at least one. `totals` contains the running
/// total of bytes for each row.
pub fn fitting_rows(totals: &[i64]) -> usize {
    let budget = i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX);
    let first_too_many = totals.iter().position(|total| *total > budget);
    first_too_many.map_or(totals.len(), |count| count.max(1))
}

/// Converts a number of rows to the type of statements.
pub fn row_count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// One row more than a page contains, to learn whether another page follows.
pub fn one_more(limit: usize) -> i64 {
    row_count(limit).saturating_add(1)
}

/// Selects the leading rows of `$rows` that fit into a page, and the row after them. `$rows` is a
/// statement that returns the keys and `bytes` of the rows of one page in the order `$order`. The
/// result also has the columns `place`, counted from 1, and `total`, the running total of bytes.
#[macro_export]
macro_rules! page_budget {
    ($rows:expr, $order:expr) => {
        concat!(
            "(select * from (select *, row_number() over so_far as place, \
             sum(bytes) over so_far as total from (",
            $rows,
            ") p window so_far as (order by ",
            $order,
            " rows unbounded preceding)) p where place <= 2 or total - bytes <= 1048576)"
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_contains_the_rows_that_fit_and_at_least_one() {
        let budget = i64::try_from(PAGE_BYTES).unwrap();
        assert_eq!(fitting_rows(&[]), 0);
        assert_eq!(fitting_rows(&[1, 2, budget]), 3);
        assert_eq!(fitting_rows(&[1, budget, budget + 1]), 2);
        assert_eq!(fitting_rows(&[budget + 1, budget + 2]), 1);
    }

    #[test]
    fn statements_contain_the_page_size() {
        let size = format!("<= {PAGE_BYTES})");
        assert!(page_budget!("select 1 as bytes", "bytes").ends_with(&size));
    }
}
