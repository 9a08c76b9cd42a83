import ScrollbackWire

/// All operations of the server.
///
/// HTTP routes, WebSocket requests, the OpenAPI document and `Documentation/permissions.md` follow from this list. Each
/// folder of operations has its own part.
package enum OperationRegistry {
    package static let all: [any Executable.Type] = [
        moderation, messages, scheduled, threads, members, users, push, admin, conversations, readState, drafts,
        connection,
    ].flatMap(\.self)

    private static let moderation: [any Executable.Type] = [
        BanUser.self, UnbanUser.self, ListBans.self, BanFromServer.self, UnbanFromServer.self, ListServerBans.self,
        ReportMessage.self, ListReports.self, GetReport.self, PutReport.self, BlockUser.self, UnblockUser.self,
        ListBlockedUsers.self,
    ]

    private static let messages: [any Executable.Type] = [
        SendMessage.self, EditMessage.self, DeleteMessage.self, DeleteMessages.self, DeleteHistory.self,
        ClearConversation.self, AddAction.self, RemoveAction.self, ListActions.self, ListMessageActions.self,
        ListPins.self, GetMessage.self, GetHistory.self, FetchHistory.self, CountMessages.self, RefreshMessages.self,
        SearchMessages.self, SearchConversation.self, ImportHistory.self,
    ]

    private static let scheduled: [any Executable.Type] = [
        ScheduleMessage.self, ListScheduled.self, CancelScheduled.self,
    ]

    private static let threads: [any Executable.Type] = [
        ListThreads.self, ChangeThread.self,
    ]

    private static let members: [any Executable.Type] = [
        ListMembers.self, PutMember.self, RemoveMember.self, ListReaders.self, ListRecipients.self, InviteUser.self,
        EndInvitation.self, ListInvitations.self, ListOwnInvitations.self,
    ]

    private static let users: [any Executable.Type] = [
        FetchUsers.self, SearchUsers.self, FetchPresence.self, GetMe.self, GetUser.self, PutUser.self,
    ]

    private static let push: [any Executable.Type] = [
        ListPushDevices.self, PutPushDevice.self, DeletePushDevice.self, GetPushPreferences.self,
        SetPushPreferences.self, TestPush.self,
    ]

    private static let admin: [any Executable.Type] = [
        ListUsers.self, ListAllConversations.self, ListConnections.self, CloseConnections.self, CloseConnection.self,
        GetJob.self, PutUserState.self, EraseUser.self, RevokeTokens.self, ListUserScheduled.self,
        CancelUserScheduled.self, GetSettings.self, PutSettings.self, ListDeliveries.self, ReplayDeliveries.self,
        PutIncomingWebhook.self, ListIncomingWebhooks.self, ReplaceIncomingWebhookSecret.self,
        DeleteIncomingWebhook.self, ListAudit.self, ListNodes.self, DrainNode.self, RenewGeneration.self,
        RotateSecret.self, StartBackup.self, ListBackups.self,
    ]

    private static let conversations: [any Executable.Type] = [
        ListConversations.self, ListChannels.self, PutConversation.self, GetConversation.self, DeleteConversation.self,
        GetHeads.self, SyncConversations.self,
    ]

    private static let readState: [any Executable.Type] = [
        MarkRead.self, MarkUnread.self, SetOwnSettings.self, SetNotifications.self, RemoveRecent.self, AddRecent.self,
        ExcludeFromNewDevices.self, MarkSeveralRead.self, ReportDelivered.self,
    ]

    private static let drafts: [any Executable.Type] = [
        PutDraft.self, ListDrafts.self,
    ]

    private static let connection: [any Executable.Type] = [
        Subscribe.self, Unsubscribe.self, SignalTyping.self, SetActivity.self, RenewToken.self, Ping.self,
    ]

    /// Finds an operation by the `type` of a WebSocket request.
    package static func operation(frame type: String) -> (any Executable.Type)? { byFrame[type] }

    private static let byFrame: [String: any Executable.Type] = Dictionary(
        uniqueKeysWithValues: all.compactMap { operation in operation.endpoint.frame.map { ($0, operation) } })
}
