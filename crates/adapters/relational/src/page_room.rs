//! The room of a page in bytes.

use domain::sizes::PAGE_BYTES;

/// The number of rows that a page has room for, at least one. `totals` are the bytes of each row
/// and of all rows before it.
pub fn fitting(totals: &[i64]) -> usize {
    let room = i64::try_from(PAGE_BYTES).unwrap_or(i64::MAX);
    let first_too_many = totals.iter().position(|total| *total > room);
    first_too_many.map_or(totals.len(), |count| count.max(1))
}

/// The rows of a statement that a page has room for, and the row after them. `$rows` is a
/// statement that reads the keys and `bytes` of at most a page in the order `$order`; the result
/// has `place`, from 1, and `total` besides.
#[macro_export]
macro_rules! page_room {
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
    fn a_page_holds_what_there_is_room_for_and_at_least_one_row() {
        let room = i64::try_from(PAGE_BYTES).unwrap();
        assert_eq!(fitting(&[]), 0);
        assert_eq!(fitting(&[1, 2, room]), 3);
        assert_eq!(fitting(&[1, room, room + 1]), 2);
        assert_eq!(fitting(&[room + 1, room + 2]), 1);
    }

    #[test]
    fn statements_know_the_size_of_a_page() {
        let size = format!("<= {PAGE_BYTES})");
        assert!(page_room!("select 1 as bytes", "bytes").ends_with(&size));
    }
}
