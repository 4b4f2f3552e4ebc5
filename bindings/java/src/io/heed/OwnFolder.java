// SPDX-License-Identifier: Apache-2.0
package io.heed;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystem;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/** Folders to which only this user, and the superuser, can have written. */
final class OwnFolder {
    private OwnFolder() {}

    /** Makes the folder, or checks that an existing one can be trusted. */
    static void make(Path folder) throws IOException {
        try {
            Files.createDirectory(folder, onlyForTheOwner(folder.getFileSystem()));
        } catch (FileAlreadyExistsException error) {
            check(folder);
        }
    }

    /** Removes a folder and its files: at once, or when the process ends if the system does not remove loaded files. */
    static void remove(Path folder, Collection<String> files) {
        List<Path> paths = new ArrayList<>();
        paths.add(folder);
        files.forEach(name -> paths.add(folder.resolve(name)));
        boolean removed = true;
        for (int i = paths.size() - 1; i >= 0; i--) {
            removed &= !Files.exists(paths.get(i), LinkOption.NOFOLLOW_LINKS) || paths.get(i).toFile().delete();
        }
        if (!removed) {
            // Paths are deleted in the reverse order of these calls, so the folder is the last.
            paths.forEach(path -> path.toFile().deleteOnExit());
        }
    }

    private static void check(Path folder) throws IOException {
        if (!isPosix(folder.getFileSystem())) {
            return;
        }
        PosixFileAttributes attributes =
                Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        if (!attributes.isDirectory()) {
            throw new IOException(folder + " is no folder");
        }
        if (!attributes.owner().equals(owner())) {
            throw new IOException(folder + " belongs to another user: " + attributes.owner());
        }
        Set<PosixFilePermission> permissions = attributes.permissions();
        if (permissions.contains(PosixFilePermission.GROUP_WRITE)
                || permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new IOException(
                    folder + " can be written by others: " + PosixFilePermissions.toString(permissions));
        }
    }

    /** The user of this process. Its name may be unknown, as in containers; on Linux it can be found without a name. */
    private static UserPrincipal owner() throws IOException {
        Path self = Paths.get("/proc/self");
        if (Files.isDirectory(self)) {
            return Files.getOwner(self);
        }
        return self.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName(
                System.getProperty("user.name"));
    }

    private static FileAttribute<?>[] onlyForTheOwner(FileSystem system) {
        return isPosix(system)
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
                }
                : new FileAttribute<?>[0];
    }

    private static boolean isPosix(FileSystem system) {
        return system.supportedFileAttributeViews().contains("posix");
    }
}
