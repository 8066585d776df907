//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CnSlQNtC.js", include_bytes!("assets/feed-CnSlQNtC.js")),
    ("assets/index-D4iPCi6j.js", include_bytes!("assets/index-D4iPCi6j.js")),
    ("assets/index-yXQXkVdj.css", include_bytes!("assets/index-yXQXkVdj.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
