//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Dgx01Ay3.js", include_bytes!("assets/feed-Dgx01Ay3.js")),
    ("assets/files-BumAEJbI.js", include_bytes!("assets/files-BumAEJbI.js")),
    ("assets/index-DonhGQvn.js", include_bytes!("assets/index-DonhGQvn.js")),
    ("assets/index-THVjInPV.css", include_bytes!("assets/index-THVjInPV.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
