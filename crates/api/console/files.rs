//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DjwmYQ5z.js", include_bytes!("assets/feed-DjwmYQ5z.js")),
    ("assets/index-D4uzRJx2.js", include_bytes!("assets/index-D4uzRJx2.js")),
    ("assets/index-D_qpT9Vc.css", include_bytes!("assets/index-D_qpT9Vc.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
