//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-De5KkE6V.js", include_bytes!("assets/feed-De5KkE6V.js")),
    ("assets/index-eFhCWEcW.css", include_bytes!("assets/index-eFhCWEcW.css")),
    ("assets/index-ixnwS5O9.js", include_bytes!("assets/index-ixnwS5O9.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
