//! The text of the parts of a batch.

use std::fmt::Write as _;

/// SQL whose parameters are renumbered.
pub(super) struct SqlText<'s> {
    pub(super) text: &'s str,
    /// The number of parameters before its own.
    pub(super) offset: usize,
    /// Each `unnest($1::text[])` is written as the value `$1::text`.
    pub(super) has_values: bool,
}

impl SqlText<'_> {
    /// Appends the text, in which the numbers of parameters continue those before it.
    pub(super) fn append_to(&self, sql: &mut String) {
        let mut parts = self.text.split('$');
        let mut before = parts.next().unwrap_or_default();
        for part in parts {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, after) = part.split_at(digits);
            let number: usize = number.parse().expect("a number follows `$`");
            let number = self.offset + number;
            let column = before.strip_suffix("unnest(").filter(|_| self.has_values);
            sql.push_str(column.unwrap_or(before));
            // Writing to a String cannot fail.
            let _ = write!(sql, "${number}");
            before = match column {
                Some(_) => {
                    let (sql_type, after) = after.split_once("[])").expect("columns are arrays");
                    sql.push_str(sql_type);
                    after
                }
                None => after,
            };
        }
        sql.push_str(before);
    }
}

/// The text of a statement for the values of a single row.
pub(crate) fn with_values(text: &str) -> String {
    let mut sql = String::new();
    let text = SqlText {
        text,
        offset: 0,
        has_values: true,
    };
    text.append_to(&mut sql);
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_numbers_continue_after_the_offset() {
        let text = |text, offset| {
            let mut sql = String::new();
            let text = SqlText {
                text,
                offset,
                has_values: false,
            };
            text.append_to(&mut sql);
            sql
        };
        let statement = "select unnest($1::text[]), $12 from t where a = $2";
        assert_eq!(text(statement, 0), statement);
        assert_eq!(
            text(statement, 23),
            "select unnest($24::text[]), $35 from t where a = $25"
        );
        assert_eq!(text("select 1", 7), "select 1");
    }

    #[test]
    fn columns_of_one_row_become_values() {
        let statement = "select * from (select unnest($1::text[]), unnest($2::uuid[])) as n \
            where n.id = any($3::uuid[])";
        assert_eq!(
            with_values(statement),
            "select * from (select $1::text, $2::uuid) as n where n.id = any($3::uuid[])"
        );
    }
}
