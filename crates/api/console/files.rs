//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DH3WJ1Ab.js", include_bytes!("assets/feed-DH3WJ1Ab.js")),
    ("assets/index-BlHjAvxG.css", include_bytes!("assets/index-BlHjAvxG.css")),
    ("assets/index-BxQ3oc9m.js", include_bytes!("assets/index-BxQ3oc9m.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
