use super::World;

/// Writes as much of what is `unsent` as the socket takes; the writer of its `last` bytes closes after them.
pub(super) fn write(world: &mut World, socket: u32, unsent: &mut u64, last: bool) {
    let end = world.sockets.get(socket);
    let Some(transport) = end.transport.as_ref().filter(|_| end.connected_reported) else { return };
    let bytes = transport.write_space().min(*unsent);
    if bytes == 0 {
        return;
    }
    *unsent -= bytes;
    world.sockets.write(socket, world.now, bytes, None);
    if *unsent == 0
        && last
        && let Some(transport) = &mut world.sockets.get_mut(socket).transport
    {
        transport.close(world.now);
    }
    world.flush(socket);
}
