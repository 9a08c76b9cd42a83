extension PushOptions {
    /// Returns these options, completed by the values of `others` that these lack.
    ///
    /// The configuration of a message takes precedence over its arguments: `configuration.over(arguments)`.
    public func over(_ others: PushOptions) -> PushOptions {
        var merged = self
        merged.title = title ?? others.title
        merged.text = text ?? others.text
        merged.data = data ?? others.data
        merged.templateID = templateID ?? others.templateID
        merged.hidesTitle = hidesTitle ?? others.hidesTitle
        merged.forcesDetail = forcesDetail ?? others.forcesDetail
        merged.ios = ios ?? others.ios
        merged.android = android ?? others.android
        merged.harmony = harmony ?? others.harmony
        return merged
    }
}
